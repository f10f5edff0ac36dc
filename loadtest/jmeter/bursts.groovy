// Plays plans one after another in one JMeter, because its start takes longer than a burst: `jmeter bursts` in this folder. Each line of
// standard input has the file of a plan, the file for its samples, and properties as NAME=VALUE, with tabs between them. Each is answered by
// a line that begins with "burst: ". The end of the input ends JMeter.
import org.apache.jmeter.JMeter
import org.apache.jmeter.engine.StandardJMeterEngine
import org.apache.jmeter.reporters.ResultCollector
import org.apache.jmeter.save.SaveService
import org.apache.jmeter.util.JMeterUtils

def home = System.getProperty('jmeter.home')
JMeterUtils.setJMeterHome(home)
JMeterUtils.loadJMeterProperties("$home/bin/jmeter.properties")
JMeterUtils.initLocale()

def play = { String plan, String samples, List<String> properties ->
  properties.each { JMeterUtils.setProperty(*it.split('=', 2)) }
  def tree = SaveService.loadTree(new File(plan))
  JMeter.convertSubTree(tree, false)
  def collector = new ResultCollector()
  collector.filename = samples
  tree.add(tree.getArray()[0], collector) // a tree is a map: tree.array is a key
  def engine = new StandardJMeterEngine()
  engine.configure(tree)
  engine.run() // returns when the samples are written
}

System.in.eachLine { line ->
  def (plan, samples) = line.split('\t')
  try {
    play(plan, samples, line.split('\t').drop(2).toList())
    println '\nburst: played' // a plan may have left a line without its end
  } catch (Throwable e) {
    println "\nburst: ${e.toString().readLines()[0]}"
  }
}
System.exit(0) // JMeter leaves threads behind
