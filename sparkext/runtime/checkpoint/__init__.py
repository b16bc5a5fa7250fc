"""What outlives the process: streams, queries, changes in, a folder of commits out, and back; uses `runtime.parts`"""
