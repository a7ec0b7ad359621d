"""Clean-room reference of dynamic KV-cache quantization: pure Python, standard library only."""
