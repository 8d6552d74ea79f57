"""The backend that prints scalar programs and loops as straight-line Python over `math`."""
