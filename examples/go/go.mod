module example

go 1.26.0

require github.com/libqwen/libqwen v0.0.0

require (
	github.com/ebitengine/purego v0.11.3 // indirect
	github.com/go-audio/audio v1.0.0 // indirect
	github.com/go-audio/riff v1.0.0 // indirect
	github.com/go-audio/wav v1.1.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)

// This checkout. A program elsewhere names its own copy here, until there are releases.
replace github.com/libqwen/libqwen => ../..
