"""What people decide: decisions, projects, the service and its page."""
