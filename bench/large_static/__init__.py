"""Large static data for the bench scale: made, loaded and saved, opened again and served, each in its own process."""
