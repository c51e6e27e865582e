package checkpoint

// sampling stores the defaults of generation_config.json. A field that is absent there has the engine's default.
func sampling(m *model, dir string) error {
	c, err := readObject(dir, "generation_config.json")
	if err != nil {
		return err
	}
	for _, prefix := range []string{"", "subtalker_"} {
		field := prefix + "do_sample"
		if prefix != "" && c.has("subtalker_dosample") { // the official files' spelling
			field = "subtalker_dosample"
		}
		if c.has(field) {
			m.set("generation."+prefix+"do_sample", c.bool(field))
		}
		if field = prefix + "top_k"; c.has(field) {
			m.setInt("generation."+field, c.int(field, 0, maxID))
		}
		for _, field := range []string{prefix + "top_p", prefix + "temperature"} {
			if c.has(field) {
				m.set("generation."+field, c.float(field))
			}
		}
	}
	if c.has("repetition_penalty") {
		m.set("generation.repetition_penalty", c.float("repetition_penalty"))
	}
	if c.has("max_new_tokens") {
		m.setInt("generation.max_new_tokens", c.int("max_new_tokens", 1, maxID))
	}
	return *c.err
}
