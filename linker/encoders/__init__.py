"""Dense and sparse encoders of names."""
