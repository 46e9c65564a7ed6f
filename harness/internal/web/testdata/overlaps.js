(() => {
	const texts = [];
	const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
	for (let node; node = walker.nextNode();) {
		const parent = node.parentElement;
		if (!node.data.trim() || !parent.checkVisibility() || parent.closest(".sr, .reader, script")) continue;
		const window = parent.closest(".scroll")?.getBoundingClientRect();
		const range = document.createRange();
		range.selectNodeContents(node);
		for (const r of range.getClientRects()) {
			const box = { text: node.data.trim(), left: r.left, right: r.right, top: r.top, bottom: r.bottom };
			if (window) {
				box.left = Math.max(box.left, window.left); box.right = Math.min(box.right, window.right);
				box.top = Math.max(box.top, window.top); box.bottom = Math.min(box.bottom, window.bottom);
			}
			if (box.right - box.left > 1 && box.bottom - box.top > 1) texts.push(box);
		}
	}
	// Letters leave some of their line free: lines may touch.
	const free = 2;
	return texts.flatMap((a, i) => texts.slice(i + 1)
		.filter((b) => a.left < b.right - free && b.left < a.right - free && a.top < b.bottom - 2 * free && b.top < a.bottom - 2 * free)
		.map((b) => a.text + " covers " + b.text));
})()
