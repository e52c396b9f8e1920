"""The plain, slow answer to everything: what the fast code is compared with."""
