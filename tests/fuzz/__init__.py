"""Input made by chance: whatever comes in, out comes an answer or an error of our own, and soon."""
