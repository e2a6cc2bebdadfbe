"""What users write: one file per kind, typed once. The CRDs and the API reference are generated from here."""
