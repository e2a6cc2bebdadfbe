"""How the tables came to be, step by step. Alembic runs these; they never change once released."""
