"""Drawing: everything here takes the payload, never torch."""
