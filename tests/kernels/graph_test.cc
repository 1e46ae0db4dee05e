// Graphs where there is no GPU: refused by name, never silently dropped.
#include "ditar/kernels/graph.h"

#include "ditar/config/error.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

TEST(GraphTest, TheCpuRefusesToRecord) {
  EXPECT_FALSE(Graph::supported(Device{}));
  bool ran = false;
  EXPECT_THROW(Graph(StreamView{}, [&] { ran = true; }), Unavailable);
  EXPECT_FALSE(ran);
}

TEST(GraphTest, AnEmptyGraphIsNotLaunched) {
  const Graph graph;
  EXPECT_TRUE(graph.empty());
  EXPECT_THROW(graph.launch(StreamView{}), InvalidArgument);
}

}  // namespace
}  // namespace ditar
