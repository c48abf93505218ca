"""What is said of two models: side by side, and their heads paired one to one."""
