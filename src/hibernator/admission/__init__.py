"""The webhooks: what the API server asks us before it stores or shows an object, and how it reaches us."""
