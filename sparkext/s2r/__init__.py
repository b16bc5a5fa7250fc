"""S2R, from streams to relations: windows, report policies, evaluation instants, watermarks,
retention."""
