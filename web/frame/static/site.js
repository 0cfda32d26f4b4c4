// What pages can do with scripts. Every page works without this file: it only adds buttons, keys and
// live figures, and each part stands for itself, so that one that fails leaves the others.
"use strict"

const parts = [copyButtons, unfold, keyboard, suggestions, failedSearch, liveStatus, filterRules]
for (const part of parts) {
	try { part() } catch (fault) { console.warn(part.name, fault) }
}

// Results that arrive while a person types need their copy buttons and open lists, too.
for (const part of [copyButtons, unfold]) document.addEventListener("htmx:afterSettle", part)

// copyButtons puts a button beside every text that is meant to be copied.
function copyButtons() {
	if (!navigator.clipboard) return
	for (const text of document.querySelectorAll(".copy:not([data-copy])")) {
		text.dataset.copy = ""
		const button = document.createElement("button")
		const name = text.getAttribute("aria-label") || "text"
		button.type = "button"
		button.className = "copy-button"
		button.textContent = "Copy"
		button.setAttribute("aria-label", "Copy " + name)
		button.addEventListener("click", async () => {
			try {
				await navigator.clipboard.writeText(text.value ?? text.textContent)
				button.textContent = "Copied"
			} catch {
				if (text.select) text.select()
				else getSelection().selectAllChildren(text)
				button.textContent = "Selected"
			}
			setTimeout(() => { button.textContent = "Copy" }, 2000)
		})
		const caption = text.parentElement.querySelector("figcaption")
		if (caption) caption.append(button)
		else text.before(button)
	}
}

// unfold opens the lists that the style sheet shows open where there is room.
function unfold() {
	for (const list of document.querySelectorAll("details.unfolds")) list.open ||= matchMedia("(min-width: 56rem)").matches
}

// keyboard: "/" leads to the search field, the arrows from there into the results and back. If the result
// that has the focus is replaced by results that arrive, the field has it again.
function keyboard() {
	const field = document.querySelector("form.search input[type=search]")
	document.addEventListener("keydown", event => {
		if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
		const at = document.activeElement
		const writing = at && at.matches("input, textarea, select, [contenteditable]")
		if (event.key === "/" && !writing && field) {
			event.preventDefault()
			field.focus()
			field.select()
			return
		}
		if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return
		const links = [...document.querySelectorAll(".hits h2 a, .cards.services h2 a")]
		const place = links.indexOf(at)
		if (place < 0 && (at !== field || event.key === "ArrowUp")) return
		const next = event.key === "ArrowDown" ? links[place + 1] : place > 0 ? links[place - 1] : field
		if (next) {
			event.preventDefault()
			next.focus()
		}
	})
	let replaced = false
	document.addEventListener("htmx:beforeSwap", event => { replaced = event.detail.target.contains(document.activeElement) })
	document.addEventListener("htmx:afterSwap", () => { if (replaced && field) field.focus() })
	// A page that is shown again has the text that was in the field last, not that of its results.
	addEventListener("pageshow", event => {
		const query = new URLSearchParams(location.search).get("q")
		if (event.persisted && field && query !== null) field.value = query
	})
}

// suggestions makes the list of completions below the search field, which the server sends along
// with the results, one that the arrow keys choose from.
function suggestions() {
	const field = document.getElementById("q"), list = document.getElementById("q-suggestions")
	if (!field || !list) return
	let chosen = -1, typing = false
	const options = () => [...list.children]
	field.setAttribute("role", "combobox")
	field.setAttribute("aria-autocomplete", "list")
	field.setAttribute("aria-controls", list.id)
	field.setAttribute("aria-expanded", "false")
	list.setAttribute("role", "listbox")
	list.setAttribute("aria-label", "Suggestions")
	const show = open => {
		open = open && options().length > 0
		list.hidden = !open
		field.setAttribute("aria-expanded", String(open))
		if (!open) choose(-1)
	}
	const choose = n => {
		chosen = n
		options().forEach((option, i) => {
			option.id = "q-option-" + i
			option.setAttribute("role", "option")
			option.setAttribute("aria-selected", String(i === n))
			if (i === n) option.scrollIntoView({block: "nearest"})
		})
		if (n < 0) field.removeAttribute("aria-activedescendant")
		else field.setAttribute("aria-activedescendant", "q-option-" + n)
	}
	const take = option => {
		field.value = option.dataset.text
		show(false)
		field.focus()
		field.form.requestSubmit()
	}
	field.addEventListener("input", () => { typing = true })
	field.addEventListener("blur", () => { typing = false; setTimeout(() => show(false), 150) })
	field.addEventListener("keydown", event => {
		const all = options()
		if (event.key === "Escape" && !list.hidden) {
			event.preventDefault()
			typing = false
			show(false)
		} else if (event.key === "Enter" && !list.hidden && chosen >= 0) {
			event.preventDefault()
			take(all[chosen])
		} else if (!list.hidden && event.key === "ArrowDown" && chosen + 1 < all.length) {
			event.preventDefault()
			choose(chosen + 1)
		} else if (!list.hidden && event.key === "ArrowUp" && chosen >= 0) {
			event.preventDefault()
			choose(chosen - 1)
		}
	})
	list.addEventListener("mousedown", event => event.preventDefault()) // keeps the focus in the field
	list.addEventListener("click", event => {
		const option = event.target.closest("li")
		if (option) take(option)
	})
	new MutationObserver(() => { if (typing && document.activeElement === field) { choose(-1); show(true) } }).observe(list, {childList: true})
}

// failedSearch says below the search field that results did not arrive while a person typed.
function failedSearch() {
	const told = document.getElementById("told")
	if (!told) return
	const show = failed => {
		told.className = failed ? "notice" : "visually-hidden"
		if (failed) told.textContent = "The search did not answer. Press Enter to search again."
	}
	for (const event of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(event, () => show(true))
	document.addEventListener("htmx:beforeSwap", event => show(!event.detail.shouldSwap))
	// A further key replaces a search that has no answer yet. htmx would write that to the console as an
	// error: it writes this member, which it fills in only where it is not set.
	document.addEventListener("htmx:beforeRequest", event => { event.detail.error = "" })
}

// liveStatus follows the status of the server and shows it in place of the figures of the page.
function liveStatus() {
	const shown = document.querySelectorAll("[data-live]"), note = document.getElementById("live")
	if (!shown.length || !note || !window.EventSource) return
	const format = new Intl.NumberFormat("en")
	const stream = new EventSource("/api/v1/status/stream")
	stream.addEventListener("status", event => {
		const status = JSON.parse(event.data)
		status.behind = Math.max(0, status.store - status.index)
		for (const element of shown) {
			const value = element.dataset.live.split(".").reduce((object, key) => object?.[key], status)
			if (typeof value !== "number") continue
			let text = element.dataset.live === "crawler.rate" ? value.toFixed(1) : format.format(value)
			if (element.dataset.live === "behind") text += value === 1 ? " change" : " changes"
			if (element.textContent !== text) element.textContent = text
		}
		if (note.textContent !== "Live: the figures update automatically.") note.textContent = "Live: the figures update automatically."
	})
	stream.addEventListener("error", () => { note.textContent = "The connection is interrupted. The figures are those of the last moment." })
	addEventListener("pagehide", () => stream.close())
}

// filterRules narrows the list of rules while a person types, without asking the server.
function filterRules() {
	const field = document.getElementById("filter"), rules = document.querySelectorAll(".rules > li"), matching = document.getElementById("matching")
	if (!field || !rules.length) return
	const counted = [...matching.childNodes]
	field.addEventListener("input", () => {
		const words = field.value.toLowerCase().split(/\s+/).filter(Boolean)
		let found = 0
		for (const rule of rules) {
			const text = (rule.textContent + " " + rule.dataset.name).toLowerCase()
			rule.hidden = !words.every(word => text.includes(word) || isOfSection(rule, word))
			if (!rule.hidden) found++
		}
		for (const group of document.querySelectorAll(".page-rules section:has(.rules)")) {
			group.hidden = !group.querySelector(".rules > li:not([hidden])")
			group.querySelector("details").open ||= words.length > 0
		}
		for (const link of document.querySelectorAll(".jump a")) link.hidden = document.querySelector(link.hash).closest("section").hidden
		const all = Object.assign(document.createElement("a"), {href: "/rules", textContent: "Show all"})
		matching.replaceChildren(...words.length ? [`${found || "None"} of ${rules.length} rules ${found === 1 ? "matches" : "match"}. `, all] : counted)
	})
}

// isOfSection reports whether a word is the number of the section that a rule comes from, such as 3.3 or
// §7, or of a section above it.
function isOfSection(rule, word) {
	if (!/^(§[0-9a-z]|[0-9a-z]+\.[0-9])/.test(word)) return false
	word = word.replace("§", "")
	return rule.dataset.section.toLowerCase().split(/[\s,§]+/).some(part => part.startsWith(word) && ["", ".", "("].includes(part.charAt(word.length)))
}
