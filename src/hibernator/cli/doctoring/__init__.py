"""What `hibernator doctor` looks at: a module per part, each a function from the patient to findings."""
