"""The methods of Slack's Web API that the app uses: their scopes, transport and arguments."""

SCOPES = {
    "users.lookupByEmail": "users:read.email",
    "users.info": "users:read",
    "conversations.open": "im:write",
    "conversations.history": "",
    "conversations.replies": "",
    "chat.postMessage": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "chat.postEphemeral": "chat:write",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
    "views.open": "",
    "apps.connections.open": "connections:write",
}
READS = {"users.lookupByEmail", "users.info", "conversations.history", "conversations.replies"}
IN_ADDRESS = {"conversations.open", "files.getUploadURLExternal", "files.completeUploadExternal"}
NEEDED = {
    "users.lookupByEmail": {"email"},
    "users.info": {"user"},
    "conversations.open": {"users"},
    "conversations.history": {"channel"},
    "conversations.replies": {"channel", "ts"},
    "chat.postMessage": {"channel", "text"},
    "chat.update": {"channel", "ts", "text"},
    "chat.delete": {"channel", "ts"},
    "chat.postEphemeral": {"channel", "user", "text"},
    "views.open": {"trigger_id", "view"},
    "files.getUploadURLExternal": {"filename", "length"},
    "files.completeUploadExternal": {"files"},
    "apps.connections.open": set(),
}
HISTORY = {"D": "im:history", "C": "channels:history", "G": "groups:history"}  # by the kind of conversation
