"""One small module per kind: gather, decide, perform."""
