from . import generate

generate()
