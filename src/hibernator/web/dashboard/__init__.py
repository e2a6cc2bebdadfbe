"""The dashboard: what sleeps, what changes next, what waits for people, for everyone who may see it.

Pages are drawn by the server and work without scripts. The same views are the answers of `/api/v1`.
"""
