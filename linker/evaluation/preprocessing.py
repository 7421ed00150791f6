"""What the protocol that compares with published figures does to a mention before it is linked."""

from linker.text.biosyn import biosyn_parts

__all__ = ["biosyn_parts"]
