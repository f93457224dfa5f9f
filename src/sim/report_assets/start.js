// Puts the pictures into the page.

themeButton();
for (const table of document.querySelectorAll('table.sortable')) sortableTable(table);
const draw = { time: timeChart, dist: distribution, gantt };
data.blocks.forEach((block, i) => draw[block.k](document.getElementById(`block-${i}`), block));
