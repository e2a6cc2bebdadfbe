"""What needs a look-up or a default before it is stored. What must never be missed is in `policies`."""
