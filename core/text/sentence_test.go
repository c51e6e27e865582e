package text

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// cut divides a text wherever a boundary is at least that good.
func cut(s, language string, least Boundary) (parts []string) {
	t := newScan(s, language)
	from := 0
	for i := range t.runes {
		if t.breaks[i] >= least {
			parts = append(parts, strings.TrimSpace(string(t.runes[from:i])))
			from = i
		}
	}
	return append(parts, strings.TrimSpace(string(t.runes[from:])))
}

// sentences has texts with '|' where sentences end.
var sentences = map[string][]string{
	"english": {
		"Dr. Smith paid $1.50 to Mrs. Jones.| She said: \"Thank you!\"| He left at 5 p.m. and was never seen again.",
		"The U.S. Army and J. R. R. Tolkien have little in common.| So have Prof. A. B. Clark Jr. and others, e.g. me, i.e. you.",
		"Wait... what?| No way!| \"Stop!\" he said.| See https://example.com/a.b?c=d. e for more.| (It is long.)| Yes.",
		"Version 2.0.1 costs 1,000.50 euros.| Pi is 3.14.| It has 10 digits.| In 1990. that was",
		"Well . . . maybe.| He lives at St. Mary's Ave. in Mt. Vernon, No. 5, fig. 3.| He said no.| Then he went.",
		"Is it?!| Yes.| \"Really?\"| \"Really.\"| 'So it is.'| *Oh!*| Fine.",
		"1. First do this.| 2. Then that.",
		"Write to me@example.com. thanks!| Bye.",
		"yahoo! is a name and so is e.e. cummings. iPhone sales fell.",
		"It ended.\n\n|Next paragraph without end\n\n|Another one",
		"This line was wrapped because it\nwas too long.| This was not.",
		"Hi!| 🙂 Bye.",
		"He met Mr. and Mrs. Brown vs. the co. in Jan. 2020 and Sgt. Pepper.| End.",
		"So it goes on…| Then it stops… or not.",
	},
	"german": {
		"Das ist z. B. am 3. Oktober um 9.30 Uhr d. h. früh.| Dr. h. c. Müller kam u. a. mit Prof. Schmidt.",
		"Er zahlte 1.000,50 €.| Am 12. Januar kam Ludwig XIV. an.| „Komm!“| »Geh!« sagte er.| Nr. 5 lebt usw. und so fort.",
		"Das geschah 1990.| Danach bzw. später war Ruhe.| Vgl. Abb. 3 und S. 7 ff. im Buch.| Fertig!",
		"Dr. med. Weiß wohnt Hauptstr. 5 in Kap. IV. Dort ist Friedrich II. König.| Er kam aus der Waldstr.| Dann ging er.",
		"Hrsg. war evtl. Hr. Meier, geb. 1950 in St. Gallen.| Ende.",
	},
	"french": {
		"Bonjour !| Ça va ?| Oui, M. Dupont et Mme. Durand vont bien.| « Venez ! » dit-il.| Voir p. 5 et art. 3, etc. puis fin.",
		"Il a payé 1 000,50 €.| C'est av. J.-C. ou apr. J.-C. selon Mgr. Blanc.| Fin…| Vraiment ?",
		"« C'est fini. »| Il partit.",
	},
	"spanish": {
		"¿Qué tal?| ¡Muy bien!| El Sr. López vive en la Av. Central núm. 5, pág. 3.| EE. UU. y Ud. lo saben.",
		"Pagó 1.234,56 pesos a la Dra. Ruiz.| ¿Y ahora?| ¡Nada!| Fin.",
	},
	"portuguese": {
		"O Sr. Silva e a Dra. Costa chegaram às 10.30.| V. Exa. sabe, etc. e tal.| Pagou R$ 1.500,00.| Fim!",
		"O Dr. João nasceu no séc. XX em Lisboa.| «Sim.»| Disse ele.",
		"Vive na Av. Paulista, n.º 5, séc. 20.| Não é?| É.",
	},
	"italian": {
		"Il sig. Rossi e la dott. Bianchi pagano 1.000,50 euro.| Cfr. pag. 3 e cap. 4, ecc. e poi basta.| Davvero?| Sì!",
		"Nato nel sec. XIX a Roma.| Disse: «Va bene.»| Poi uscì.",
		"L'avv. Verdi vive a S. Marco.| «Vieni!» disse.| Fine.",
	},
	"russian": {
		"А. С. Пушкин родился в 1799 г. в Москве.| Он жил на ул. Арбат, д. 5, кв. 3, и т. д. и т. п. Цена 1 000,50 руб. за штуку.",
		"«Стой!» — крикнул он.| Это т.е. так, напр. здесь.| Проф. Иванов ушёл…| Правда?| Да!",
	},
	"chinese": {
		"你好。|我花了3.5元，买了1,000个。|“好。”他说。|你来吗？|来！|他走了……然后又回来了。",
		"请看https://example.com/a?b=1。|谢谢！！|真的？！|是的。",
		"版本２．０很好。|第一章\n\n|正文开始。|《书名。》很好。",
	},
	"japanese": {
		"こんにちは。|お元気ですか？|はい、元気です！|「行こう。」と彼は言った。|「はい。」|「いいえ。」",
		"価格は1,000円です。|3.14は円周率…だと思う。|えっ！？|本当。",
	},
	"korean": {
		"안녕하세요.| 저는 김철수입니다.| 가격은 1,000.50원입니다!| 정말요?| 네.| 그래서... 나는 갔다.",
		"“가자.” 그가 말했다.| “응.”| “좋아!” 버전 2.0이 나왔다.| 끝.",
	},
	"hindi":  {"यह एक वाक्य है।| यह दूसरा है।| क्या?| हाँ!"},
	"arabic": {"مرحبا.| كيف حالك؟| بخير!| نعم."},
	"greek":  {"Καλημέρα.| Τι κάνεις;| Καλά!"},
}

func TestSentences(t *testing.T) {
	for language, texts := range sentences {
		for _, marked := range texts {
			var want []string
			for part := range strings.SplitSeq(marked, "|") {
				want = append(want, strings.TrimSpace(part))
			}
			whole := strings.ReplaceAll(marked, "|", "")
			assert.Equal(t, want, cut(whole, language, Sentence), language)
		}
	}
}

// TestUnknownLanguage: without a language, abbreviations of all count; what is found is right, though it may be less.
func TestUnknownLanguage(t *testing.T) {
	for language, texts := range sentences {
		for _, marked := range texts {
			known := map[string]bool{}
			at := ""
			for part := range strings.SplitSeq(marked, "|") {
				at += strings.Join(strings.Fields(part), "")
				known[at] = true
			}
			at = ""
			for _, part := range cut(strings.ReplaceAll(marked, "|", ""), "", Sentence) {
				at += strings.Join(strings.Fields(part), "")
				assert.True(t, known[at], "%s: %s", language, part)
			}
		}
	}
}
