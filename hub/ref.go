package hub

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ref names models on a hub: a repository, a revision of it, and what is wanted of its files.
type Ref struct {
	Repo     string // "org/name"
	Revision string // a branch, tag or commit
	Want     Want
}

// MainRevision is the revision of a Ref that names none.
const MainRevision = "main"

// ParseRef reads "org/name[@revision][:want]", for example "org/name:1.7b-customvoice-Q8_0" or "org/name@v2:Q4_K_M".
func ParseRef(s string) (Ref, error) {
	rest, want, _ := strings.Cut(s, ":")
	repo, revision, given := strings.Cut(rest, "@")
	r := Ref{Repo: repo, Revision: revision}
	if !given {
		r.Revision = MainRevision
	}
	if err := checkRepo(r.Repo); err != nil {
		return r, err
	}
	if err := checkRevision(r.Revision); err != nil {
		return r, err
	}
	var err error
	r.Want, err = ParseWant(want)
	return r, err
}

func (r Ref) String() string {
	s := r.Repo
	if r.Revision != MainRevision {
		s += "@" + r.Revision
	}
	if w := r.Want.String(); w != "" {
		s += ":" + w
	}
	return s
}

var repoPart = regexp.MustCompile(`^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?$`)

// checkRepo follows the hub's rules, by which a name is also the name of a folder.
func checkRepo(repo string) error {
	org, name, ok := strings.Cut(repo, "/")
	if !ok || !repoPart.MatchString(org) || !repoPart.MatchString(name) || strings.Contains(repo, "--") || strings.Contains(repo, "..") {
		return fail(ErrInvalid, "repository %q: not of the form ORG/NAME", repo)
	}
	return nil
}

var revisionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./+-]{0,199}$`)

func checkRevision(revision string) error {
	if !revisionName.MatchString(revision) || !isLocal(revision) {
		return fail(ErrInvalid, "revision %q: not a branch, tag or commit", revision)
	}
	return nil
}

// isLocal tells whether a name from outside, with / between its parts, stays below the folder it is put in and means
// the same everywhere.
func isLocal(name string) bool {
	return name != "" && path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name)) &&
		!strings.ContainsAny(name, `\:`) && !strings.ContainsFunc(name, unicode.IsControl) && utf8.ValidString(name)
}

var (
	commitHash = regexp.MustCompile(`^[0-9a-f]{40}$`)
	blobName   = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}$`)
)
