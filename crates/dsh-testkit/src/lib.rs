//! What tests of agents need: a model server that does whatever its script says.
