"""Where everything is put together: the settings, and the operator that they make."""
