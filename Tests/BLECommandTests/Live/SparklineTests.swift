import Testing

@testable import BLECommand

@Suite struct SparklineTests {
    @Test(
        arguments: [
            ([], ""), ([5], "▄"), ([5, 5, 5], "▄▄▄"), ([0, 1], "▁█"), ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
            ([1, 0, -1], "█▅▁"), ([.nan, 0, .infinity, 1], " ▁ █"), ([.nan], " "),
            ([0, .leastNonzeroMagnitude], "▄▄"), ([-.leastNonzeroMagnitude, .leastNonzeroMagnitude, .nan], "▄▄ "),
            ([0, 4 * .leastNonzeroMagnitude], "▁█"),
            ([-Double.greatestFiniteMagnitude, 0, .greatestFiniteMagnitude], "▁▅█"),
        ] as [([Double], String)])
    func `each number has a block as high as it is large`(_ numbers: [Double], _ line: String) {
        #expect(Sparkline.text(numbers) == line)
    }
}
