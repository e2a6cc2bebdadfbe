"""A scene to look at: the control plane, the CRDs and the operator in one command."""
