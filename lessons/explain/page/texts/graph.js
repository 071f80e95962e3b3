// What the drawing of the graph says: [English, 中文].
export const graphTexts = {
  graph_drawn: [
    "The ops of {layer} and the way back of their gradients; the tables below tell the same",
    "{layer} 的运算及其梯度的回路；下面的表格内容相同",
  ],
  model_drawn: ["The whole model, from the input to the loss", "整个模型，从输入到损失"],
  graph_link: ["{symbol}, to its step", "{symbol}，转到它所在的步骤"],
  graph_passes: ["unchanged", "原样传回"],
  graph_kept_by: ["kept for the backward of {ops}", "为 {ops} 的反向保留"],
  graph_sum: ["gradients of {count} uses, added up", "{count} 次使用的梯度相加"],
  graph_legend_forward: ["forward", "前向"],
  graph_legend_backward: ["gradients, backward", "梯度，反向"],
  graph_legend_kept: ["kept for backward", "为反向保留"],
  graph_legend_sum: ["gradients are added up", "梯度相加"],
};
