package server

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOpenAPIKnowsAllPlaces: the document and the routes list the same.
func TestOpenAPIKnowsAllPlaces(t *testing.T) {
	var doc struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal(openAPIDocument, &doc))
	s, err := New(Options{})
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, r := range s.routes() {
		path := strings.NewReplacer("{$}", "", "...", "").Replace(r.pattern)
		seen[path] = true
		var want, got []string
		for m := range r.methods {
			want = append(want, strings.ToLower(m))
		}
		for m := range doc.Paths[path] {
			if m != "parameters" {
				got = append(got, m)
			}
		}
		assert.ElementsMatch(t, want, got, path)
	}
	for path := range doc.Paths {
		assert.True(t, seen[path], path)
	}
	fields := doc.Components.Schemas["SpeechRequest"].Properties
	var known []string
	for _, f := range new(speechRequest).fields() {
		known = append(known, f.names[0])
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(fields)), known)
}
