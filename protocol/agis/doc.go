package agis
