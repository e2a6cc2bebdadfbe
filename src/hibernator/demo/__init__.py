"""A scene to look at: a shop on a real control plane, with the operator, whose days pass in minutes."""
