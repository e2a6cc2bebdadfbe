"""The checks of `hibernator doctor`: a module per part, each a function from an installation to findings."""
