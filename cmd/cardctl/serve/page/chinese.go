package page

// chinese has the texts of the pages in Chinese. Arguments keep their order.
var chinese = map[string]string{}
