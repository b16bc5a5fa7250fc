"""S2R, from streams to relations: windows, report policies, evaluation instants, watermarks, retention.

Times and declarations come in, intervals and instants go out, as plain numbers; it may use the errors only.
"""
