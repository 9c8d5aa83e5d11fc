//! Requests to models that failed for a passing reason are made again.
