import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.criteria.EqualDistanceTCloseness;
import org.deidentifier.arx.criteria.HierarchicalDistanceTCloseness;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

/**
 * The searches of searches.py by ARX: optimal recodings of a folder with data.csv and a hierarchy per column.
 *
 * A line of the input is a search: quasi-identifiers, sensitive column or -, metric, k, share that may be
 * suppressed, kind of t-closeness or -; all t are 0.2. A line of the output has the medians of its seconds.
 */
public class ArxSearches {
    private static final int WARM = 3;
    private static final double WARM_SECONDS = 3;

    public static void main(String[] arguments) throws Exception {
        String folder = arguments[0];
        int repeat = Integer.parseInt(arguments[1]);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            System.out.println(measured(folder, line.split("\\|"), repeat));
            System.out.flush();
        }
    }

    private static String measured(String folder, String[] asked, int repeat) throws Exception {
        List<Double> searches = new ArrayList<>();
        List<Double> calls = new ArrayList<>();
        long nodes = 0;
        double begun = System.nanoTime();
        for (int run = 0; calls.size() < repeat; run++) {
            boolean warm = run >= WARM && (System.nanoTime() - begun) / 1e9 > WARM_SECONDS;
            Data data = Data.create(folder + "/data.csv", StandardCharsets.UTF_8, ';');
            for (int column = 0; column < data.getHandle().getNumColumns(); column++) {
                String name = data.getHandle().getAttributeName(column);
                data.getDefinition().setAttributeType(name, AttributeType.INSENSITIVE_ATTRIBUTE);
            }
            for (String name : asked[0].split(",")) {
                data.getDefinition().setAttributeType(name, tree(folder, name));
            }
            ARXConfiguration settings = settings(folder, asked, data);
            System.gc();
            double start = System.nanoTime();
            ARXResult result = new ARXAnonymizer().anonymize(data, settings);
            result.getOutput(false);
            if (warm) {
                calls.add((System.nanoTime() - start) / 1e9);
                searches.add(result.getProcessStatistics().getDuration() / 1e3);
            }
            nodes = result.getProcessStatistics().getTransformationsChecked();
        }
        return String.format(
            Locale.ROOT,
            "{\"search\": %.4f, \"call\": %.4f, \"nodes\": %d}",
            median(searches), median(calls), nodes
        );
    }

    private static ARXConfiguration settings(String folder, String[] asked, Data data) throws Exception {
        ARXConfiguration settings = ARXConfiguration.create();
        settings.setAlgorithm(ARXConfiguration.AnonymizationAlgorithm.OPTIMAL);
        settings.setQualityModel(metric(asked[2]));
        settings.addPrivacyModel(new KAnonymity(Integer.parseInt(asked[3])));
        settings.setSuppressionLimit(Double.parseDouble(asked[4]));
        if (!asked[1].equals("-")) {
            data.getDefinition().setAttributeType(asked[1], AttributeType.SENSITIVE_ATTRIBUTE);
            settings.addPrivacyModel(
                asked[5].equals("equal")
                    ? new EqualDistanceTCloseness(asked[1], 0.2)
                    : new HierarchicalDistanceTCloseness(asked[1], 0.2, tree(folder, asked[1]))
            );
        }
        return settings;
    }

    private static Metric<?> metric(String name) {
        switch (name) {
            case "loss":
                return Metric.createLossMetric(AggregateFunction.GEOMETRIC_MEAN);
            case "precision":
                return Metric.createPrecisionMetric(AggregateFunction.GEOMETRIC_MEAN);
            case "non-uniform-entropy":
                return Metric.createEntropyMetric(false);
            case "discernibility":
                return Metric.createDiscernabilityMetric(false);
            case "average-class-size":
                return Metric.createAECSMetric();
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private static Hierarchy tree(String folder, String name) throws Exception {
        return Hierarchy.create(folder + "/" + name + ".csv", StandardCharsets.UTF_8, ';');
    }

    private static double median(List<Double> figures) {
        Collections.sort(figures);
        return figures.get(figures.size() / 2);
    }
}
