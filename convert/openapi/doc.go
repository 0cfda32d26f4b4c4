// Package openapi converts OpenAPI descriptions (Swagger 2.0, OpenAPI 3.0, 3.1 and 3.2) to AGIS
// documents ([ToAGIS]) and to AI Discovery documents ([ToAIDiscovery]).
//
// A description is read tolerantly: a part that breaks the specification is left out and named in
// a review, and the rest is converted. Limits on size, depth and count apply before anything else
// sees the bytes. No file is opened and no address is fetched: a $ref that leads out of the
// description is left out and named.
package openapi
