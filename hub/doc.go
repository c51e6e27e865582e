// Package hub downloads models from a Hugging Face-compatible hub into the cache that huggingface_hub keeps, so that
// either finds what the other has fetched.
//
//	client, err := hub.New(hub.FromEnv(os.Getenv))
//	listing, err := client.List(ctx, ref)          // which files there are, at which commit
//	choice, err := hub.Choose(listing.Files, ref.Want)
//	snapshot, err := client.Pull(ctx, listing, choice.Files())
//	talker := snapshot.Path(choice.Talker)
//
// The cache has one folder a repository:
//
//	models--ORG--NAME/refs/main                 the commit that a name stands for
//	models--ORG--NAME/snapshots/COMMIT/FILE     a relative link to …
//	models--ORG--NAME/blobs/ETAG                … the content, named by its hash
//	models--ORG--NAME/blobs/ETAG.incomplete     what an interrupted download left, and the next one goes on with
//	.locks/models--ORG--NAME/ETAG.lock          held (flock) while a blob is written
package hub
