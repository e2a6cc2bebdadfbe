// Sends the form that begins a log-in. Without it people press the button.
document.getElementById("send").requestSubmit();
