"""What heads are good for: the commands that edit heads or follow the gradient of a task."""
