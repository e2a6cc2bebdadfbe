"""How a kind of resource sleeps and wakes: one small module a kind, all behind one protocol."""
