#include "autograd/inspect/curves.hpp"

#include "examples/imdb/commands.hpp"
#include "examples/imdb/metrics.hpp"
#include "examples/imdb/output.hpp"
#include "examples/imdb/review_sink.hpp"

namespace pencil::imdb {

int curves(const CurvesOptions& o, Console& console) {
  check_can_be_written(o.svg, "svg");
  for (const Chart& chart : charts_of(read_file(o.metrics)))
    if (chart.title == o.what) write_file(o.svg, curves_svg(chart));
  if (!o.quiet) console.say("{} over the epochs: {}\n", o.what, o.svg.string());
  return 0;
}

}  // namespace pencil::imdb
