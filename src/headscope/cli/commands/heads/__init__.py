"""What heads do: the commands that sort, find and explain heads."""
