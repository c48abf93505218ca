"""What the server works out when it is asked: texts through models, as they are and edited."""
