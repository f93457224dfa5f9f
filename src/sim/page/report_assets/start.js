// Puts the pictures into the page.

themeButton();
for (const table of document.querySelectorAll('table.sortable')) sortableTable(table);
tableTools();
const draw = { time: timeChart, xy: xyChart, dist: distribution, gantt };
data.blocks.forEach((block, i) => draw[block.k](document.getElementById(`block-${i}`), block));
