"""Time: windows, zones, holidays, exceptions and timelines. Pure: no I/O, no clock, no Kubernetes."""
