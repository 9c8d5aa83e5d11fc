//! Models of DeepSeek, and of whatever speaks its protocol.
