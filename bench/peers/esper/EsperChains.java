import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPEventService;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Esper at the events bench: chains of events, `java EsperChains.java STEPS`.
 *
 *  A line of standard input names a file of events (step, source, target, time: 8 bytes each, the high one first) and one for
 *  the matches (the nodes of each chain); the answer is nanoseconds of the clock and of the processor.
 */
public final class EsperChains {
    private static final int COLUMNS = 4;

    private final int steps;
    private final EPEventService events;
    private final List<long[]> matches = new ArrayList<>();

    private EsperChains(int steps) throws Exception {
        this.steps = steps;
        Configuration configuration = new Configuration();
        configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
        EPRuntime runtime = EPRuntimeProvider.getDefaultRuntime(configuration);
        EPCompiled compiled = EPCompilerProvider.getCompiler().compile(module(), new CompilerArguments(configuration));
        for (EPStatement statement : runtime.getDeploymentService().deploy(compiled).getStatements()) {
            if ("chains".equals(statement.getName())) {
                statement.addListener((found, gone, of, in) -> take(found));
            }
        }
        events = runtime.getEventService();
    }

    private String module() {
        StringBuilder schemas = new StringBuilder();
        StringBuilder shown = new StringBuilder();
        StringBuilder pattern = new StringBuilder();
        for (int step = 0; step < steps; step++) {
            schemas.append("@public @buseventtype create objectarray schema Step" + step + " (s long, o long);\n");
            shown.append("e" + step + ".s as n" + step + ", ");
            pattern.append((step == 0 ? "" : " -> ") + "every e" + step + "=Step" + step);
            if (step > 0) {
                pattern.append("(s=e" + (step - 1) + ".o)");
            }
        }
        shown.append("e" + (steps - 1) + ".o as n" + steps);
        return schemas + "@name('chains') select " + shown + " from pattern [" + pattern + "];";
    }

    private void take(EventBean[] found) {
        for (EventBean one : found) {
            long[] nodes = new long[steps + 1];
            for (int place = 0; place <= steps; place++) {
                nodes[place] = (Long) one.get("n" + place);
            }
            matches.add(nodes);
        }
    }

    private String batch(Path given, Path answers) throws Exception {
        ByteBuffer numbers = ByteBuffer.wrap(Files.readAllBytes(given));
        int count = numbers.remaining() / (8 * COLUMNS);
        String[] names = new String[count];
        Object[][] rows = new Object[count][];
        for (int event = 0; event < count; event++) {
            names[event] = ("Step" + numbers.getLong()).intern();
            rows[event] = new Object[] {numbers.getLong(), numbers.getLong()};
            numbers.getLong(); // Esper sees events in the order in which they come
        }
        matches.clear();
        com.sun.management.OperatingSystemMXBean system =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long used = system.getProcessCpuTime();
        long began = System.nanoTime();
        for (int event = 0; event < count; event++) {
            events.sendEventObjectArray(rows[event], names[event]);
        }
        String told = (System.nanoTime() - began) + " " + (system.getProcessCpuTime() - used);
        ByteBuffer written = ByteBuffer.allocate(matches.size() * (steps + 1) * 8);
        for (long[] nodes : matches) {
            for (long node : nodes) {
                written.putLong(node);
            }
        }
        Files.write(answers, written.array());
        return told;
    }

    public static void main(String[] arguments) throws Exception {
        EsperChains chains = new EsperChains(Integer.parseInt(arguments[0]));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] paths = line.split(" ");
            System.out.println(chains.batch(Path.of(paths[0]), Path.of(paths[1])));
        }
    }
}
